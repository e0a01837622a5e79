// Suites that take longest begin first, so that no worker sits idle while another works off a long one at the end. What Jest itself knows
// of earlier runs is not there in a fresh clone. The order decides nothing but time: a suite that is not named comes after these.
import Sequencer from '@jest/test-sequencer';
import { slowSuites } from './slow-suites.mjs';

const slowest = Object.keys(slowSuites);

const placeOf = ({ path }) => {
  const place = slowest.findIndex((name) => path.endsWith(name));
  return place < 0 ? slowest.length : place;
};

export default class extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((left, right) => placeOf(left) - placeOf(right));
  }
}
