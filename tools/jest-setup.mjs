// Tests compile with every stage of the compiler verified, unless the environment says otherwise.
process.env.TSINDUCTOR_VERIFY ??= '1';
// What cannot be built is an error: a test of compiled code that ran on the interpreter would show nothing.
process.env.TORCHDYNAMO_SUPPRESS_ERRORS ??= '0';
// Jest's workers inherit the terminal's colours; the programs that tests start print plain text.
delete process.env.FORCE_COLOR;
