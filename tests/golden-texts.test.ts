// A sample of the golden cases becomes C++: see golden-texts.ts.
import { testGoldenTexts } from './golden-texts.ts';

testGoldenTexts(7);
