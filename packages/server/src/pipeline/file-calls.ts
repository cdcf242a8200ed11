import type { AppError, Operation } from '@hermod/protocol'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { FileAnswer } from '../lib/system/file-answer.js'
import { type Allowance, unlimited } from './allowance.js'
import type { Call, Reply, UploadParameters } from './call.js'
import type { Executor, WritePayload } from './executor.js'

/**
 * Opens a file as a transport answers it; called within the call, so its failure is one of the
 * call.
 * @throws AppError of the file
 */
export type OpenFile<Opened> = (file: FileAnswer) => MaybePromise<Opened>

/** The result of a call that answers a file. */
export type DownloadReply<Opened> =
  /**
   * @param ended the transport calls it once with the bytes that were sent, when the file is sent
   * or will not be
   */
  | { readonly kind: 'file'; readonly opened: Opened; ended(bytes: number): void }
  | { readonly kind: 'failure'; readonly error: AppError }

/**
 * The tokens of an upload that was cut, beyond the one of every call: its begin costs more than its
 * bytes.
 */
const cutUploadTokens = 1

/**
 * Executes the operations that move files, for transports that can: callers who have moved too many
 * bytes are refused, a handler gets the upload, and a call that answers a file counts until the
 * file is sent.
 */
export class FileCalls {
  constructor(private readonly executor: Executor) {}

  /** @param upload null for an operation on a file that the client has sent elsewhere */
  async receive<Encoded>(
    operation: Operation,
    call: Call,
    write: WritePayload<Encoded>,
    upload: UploadParameters | null,
  ): Promise<Reply<Encoded>> {
    let payer: Pick<Allowance, 'charge'> = unlimited
    const reply = await this.executor.execute(operation, call, write, {
      admit(allowance) {
        payer = allowance
        allowance.requireFileBytes()
      },
      context: upload === null ? {} : { upload },
    })
    if (reply.kind === 'failure' && reply.error.errorName === 'malformed_request')
      payer.charge(cutUploadTokens)
    return reply
  }

  async send<Opened>(
    operation: Operation,
    call: Call,
    open: OpenFile<Opened>,
  ): Promise<DownloadReply<Opened>> {
    let ended = (_bytes: number) => {}
    const reply = await this.executor.execute(
      operation,
      call,
      (answer) => open(answer as unknown as FileAnswer),
      {
        admit: (allowance) => allowance.requireFileBytes(),
        keepOpen(allowance, end) {
          ended = (bytes) => {
            allowance.chargeFileBytes(bytes)
            end()
          }
        },
      },
    )
    return reply.kind === 'failure' ? reply : { kind: 'file', opened: reply.encoded, ended }
  }
}
