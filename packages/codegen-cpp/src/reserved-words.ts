// Words that a generated name cannot be in C++: keywords, alternative tokens, what the prelude and the ABI call theirs,
// and macros that compilers predefine without underscores.
import { functionNames } from '@tsinductor/codegen';

const words = `alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq main
linux unix i386 context args runtime status log parallel print_line take_printed Runtime PrintLog lanes_mask
f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool8`;

export const reservedWords: ReadonlySet<string> = new Set([...words.split(/\s+/), ...functionNames]);
