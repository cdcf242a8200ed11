/** A file of another system that cannot be read as a whole. The message says what to do. */
export class ImportFileError extends Error {
  override readonly name = 'ImportFileError'
}
