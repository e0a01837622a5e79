// Errors of data sets and batches. Codes are stable; messages say what to do. Files that are damaged have the codes of the tensors' files.
import { UserError } from '@tsinductor/base';

export const badOption = (option: string, { is, needs }: { is: unknown; needs: string }): UserError =>
  new UserError('DATA_OPTION', `${option} is ${String(is)}, and ${needs} is needed`, {
    hint: `choose ${option} accordingly`,
  });

export const unknownOption = (where: string, option: string, known: readonly string[]): UserError =>
  new UserError('DATA_OPTION_UNKNOWN', `${where} has no option ${option}`, {
    hint: `its options are ${known.join(', ')}`,
  });

export const notADataset = (what: string): UserError =>
  new UserError('DATA_DATASET', `this is no data set: ${what}`, {
    hint: 'give tensors with one row for each item, or an object with length and batch(rows)',
  });

export const noOptions = (where: string, is: string): UserError =>
  new UserError('DATA_OPTION', `the options of ${where} are ${is}, and a record is needed`, {
    hint: 'give a record with a name for each option',
  });

export const stateDiffers = (what: string): UserError =>
  new UserError('DATA_STATE', `the saved position is not of these batches: ${what}`, {
    hint: 'make the batches as they were made when it was saved: the same data, size, seed and options',
  });

export const workerFailed = (what: string, cause: unknown): UserError =>
  new UserError('DATA_WORKER', `a worker thread made no batch: ${what}`, {
    cause,
    hint: 'correct the function that the workers option names: its module is imported by Node in a worker thread',
  });

export const batchesClosed = (): UserError =>
  new UserError('DATA_CLOSED', 'these batches are closed, and their worker threads have ended', {
    hint: 'take batches before close(), or make them anew',
  });

export const noSuchColumn = (name: string, known: readonly string[]): UserError =>
  new UserError('DATA_COLUMN', `the table has no column ${JSON.stringify(name)}`, {
    hint: `its columns are ${known.slice(0, 12).join(', ')}${known.length > 12 ? ' …' : ''}`,
  });

export const columnKind = (name: string, is: string, needs: string): UserError =>
  new UserError('DATA_COLUMN_KIND', `the column ${JSON.stringify(name)} is ${is}, and ${needs} is needed`, {
    hint: 'say in the option columns what each column is',
  });

export const noSuchExport = (module: string, name: string, known: readonly string[]): UserError =>
  new UserError('DATA_EXPORT', `${module} exports no function ${name}`, {
    hint: `name in workers.export one of its functions; it exports ${known.join(', ')}`,
  });

export const threwNothing = (what: null | undefined): UserError =>
  new UserError('DATA_WORKER', `the function threw ${String(what)}`, {
    hint: 'throw an error that says what is wrong',
  });

export const notAState = (path: string, is: string): UserError =>
  new UserError('DATA_CHECKPOINT_PART', `${path} is ${is}, which no checkpoint holds`, {
    hint: 'let stateDict() give tensors, numbers, text, booleans, null, and lists and plain records of them',
  });

export const notParts = (is: string): UserError =>
  new UserError('DATA_CHECKPOINT_PART', `the parts of a checkpoint are ${is}, and a record is needed`, {
    hint: 'give a record with a name for each part, such as { model, optimizer }',
  });

export const notAPart = (name: string): UserError =>
  new UserError('DATA_CHECKPOINT_PART', `${name} is no part of a checkpoint`, {
    hint: 'give what has stateDict() and loadStateDict(state), by any name but random',
  });

export const checkpointDiffers = (found: readonly string[], wanted: readonly string[]): UserError =>
  new UserError(
    'DATA_CHECKPOINT',
    `the checkpoint has ${found.join(', ')}, and ${wanted.join(', ')} are to be restored`,
    {
      hint: 'give the parts that were saved, by the same names',
    },
  );
