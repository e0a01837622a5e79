// Tests compile with every stage of the compiler verified, unless the environment says otherwise.
process.env.TSINDUCTOR_VERIFY ??= '1';
