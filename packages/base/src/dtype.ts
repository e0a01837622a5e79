// The ten element types, with the facts that every layer asks for. Nothing elsewhere branches on a dtype's name where a
// property of this table answers the question.

/** An element type, by PyTorch's usual short name. */
export type DType = 'f64' | 'f32' | 'f16' | 'bf16' | 'i64' | 'i32' | 'i16' | 'i8' | 'u8' | 'bool';

/** Floats, integers and bool: the categories of PyTorch's type promotion. */
export type DTypeCategory = 'bool' | 'integer' | 'float';

interface DTypeInfo {
  readonly category: DTypeCategory;
  /** Bytes of one element in memory. */
  readonly bytes: number;
  /** PyTorch's long name, as in files and messages (`float32`). */
  readonly torchName: string;
  readonly signed: boolean;
  /** The dtype in which arithmetic on it is done: f16 and bf16 are widened to f32. */
  readonly compute: DType;
}

export const dtypeInfo: Readonly<Record<DType, DTypeInfo>> = {
  f64: { category: 'float', bytes: 8, torchName: 'float64', signed: true, compute: 'f64' },
  f32: { category: 'float', bytes: 4, torchName: 'float32', signed: true, compute: 'f32' },
  f16: { category: 'float', bytes: 2, torchName: 'float16', signed: true, compute: 'f32' },
  bf16: { category: 'float', bytes: 2, torchName: 'bfloat16', signed: true, compute: 'f32' },
  i64: { category: 'integer', bytes: 8, torchName: 'int64', signed: true, compute: 'i64' },
  i32: { category: 'integer', bytes: 4, torchName: 'int32', signed: true, compute: 'i32' },
  i16: { category: 'integer', bytes: 2, torchName: 'int16', signed: true, compute: 'i16' },
  i8: { category: 'integer', bytes: 1, torchName: 'int8', signed: true, compute: 'i8' },
  u8: { category: 'integer', bytes: 1, torchName: 'uint8', signed: false, compute: 'u8' },
  bool: { category: 'bool', bytes: 1, torchName: 'bool', signed: false, compute: 'bool' },
};

export const allDTypes: readonly DType[] = Object.keys(dtypeInfo) as DType[];

export const isFloat = (dtype: DType): boolean => dtypeInfo[dtype].category === 'float';
export const isInteger = (dtype: DType): boolean => dtypeInfo[dtype].category === 'integer';

/** Whether `name` is a dtype: for values that come from users and files. */
export const isDType = (name: unknown): name is DType => typeof name === 'string' && Object.hasOwn(dtypeInfo, name);
