// Words that a generated name cannot be in CUDA C++: keywords, what the language and the prelude call theirs, and macros
// that compilers predefine.
import { functionNames } from '@tsinductor/codegen';

const words = `alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq main
linux unix i386 printf status shared_memory emulation warpSize threadIdx blockIdx blockDim gridDim
f64 f32 f16 bf16 i64 i32 i16 i8 u8 u32 u64 bool8
abs min max exp log sin cos tan sqrt pow erf floor ceil round trunc fma hypot gamma rint fmod signbit isnan isinf
acos asin atan atan2 acosh asinh atanh cosh sinh tanh cbrt log2 log10 log1p exp2 exp10 expm1 lgamma tgamma
j0 j1 jn y0 y1 yn ceilf floorf`;

export const reservedWords: ReadonlySet<string> = new Set([...words.split(/\s+/), ...functionNames]);
