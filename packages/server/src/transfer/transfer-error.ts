/** An export or an import cannot be done; the message is a sentence that says what to do. */
export class TransferError extends Error {
  override readonly name = 'TransferError'
}
