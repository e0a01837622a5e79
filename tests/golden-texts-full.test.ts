// Every golden case becomes C++: see golden-texts.ts.
import { testGoldenTexts } from './golden-texts.ts';

testGoldenTexts(1);
