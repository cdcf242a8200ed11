import type { CallOptions } from '../api.js'
import { failureOfUpload } from '../core/unsent/upload-failure.js'
import { ClientError, failureOf } from '../errors.js'
import type { ClientPorts } from '../ports/client-ports.js'
import type { OperationId } from '../protocol-types.js'
import { uploadAddress } from '../runtime/upload-address.js'
import { fromWire } from '../wire/from-wire.js'
import { refuse } from './arguments.js'
import type { Caller } from './caller.js'

/**
 * Uploads a file that is no part of a message: a picture or a shared file.
 * @param ticket the operation that answers an upload ticket, and its parameters
 * @returns the address of the file
 */
export type Uploader = (
  ticket: readonly [op: OperationId, params: object],
  file: Blob,
  options?: CallOptions & { readonly name?: string },
) => Promise<string>

/** Makes the uploader of a client. @param url address of the service */
export function createUploader(call: Caller, upload: ClientPorts['upload'], url: string): Uploader {
  return async ([op, params], file, { name, ...options } = {}) => {
    const ticket = fromWire.ticket((await call(op, params as never, options)).data)
    const request = {
      url: uploadAddress(ticket.uploadUrl, url),
      method: ticket.method,
      fields: ticket.fields,
      blob: file,
      fileName: name ?? nameOf(file),
      onProgress: () => {},
      signal: options.signal ?? new AbortController().signal,
    }
    const answer = await upload(request).catch(() => {
      const isAborted = options.signal?.aborted
      throw new ClientError(
        isAborted
          ? failureOf('aborted', 'the signal was aborted')
          : failureOf('upload_failed', 'the upload got no answer', true),
      )
    })
    const failure = failureOfUpload(answer)
    if (failure) throw new ClientError(failure)
    return ticket.downloadUrl
  }
}

/** Returns the name of a file; `file` for a Blob, which has none. */
export function nameOf(file: Blob): string {
  return (file as Partial<File>).name || 'file'
}

/** Checks a file. */
export function checkFile(name: string, file: unknown): void {
  if (!(file instanceof Blob)) refuse(name, 'a File or a Blob')
}
