import type { Readable } from 'node:stream'
import type { AppError, CallerRule, Operation } from '@hermod/protocol'
import type { FileAnswer } from '../lib/system/file-answer.js'
import type { Allowance } from './allowance.js'
import type { ParameterSource } from './parameters.js'
import type { Principal, PrincipalOf } from './principal.js'

/** What a caller says about itself, as it arrived and not yet proved. */
export interface Credentials {
  readonly appId: string | undefined
  readonly accessToken: string | undefined
  readonly userId: string | undefined
  readonly groupId: string | undefined
  /** In place of an access token, for a file. */
  readonly signed?: SignedFileRequest | undefined
  /** In place of all others, for an upload. */
  readonly ticket?: string | undefined
}

/** A request for a file that is signed in place of an access token. */
export interface SignedFileRequest {
  readonly storeToken: string
  /** The parameter sdk_sign. */
  readonly signature: string
  readonly method: 'GET'
  /** The path, `?`, the name of the parameter that is signed, `=`, and its value without percent-encoding. */
  readonly target: string
}

interface CallSource extends ParameterSource {
  readonly requestId: string
  /** The client's network address, for limits. */
  readonly address: string
  readonly userAgent: string
  /** Where the caller has reached the service, for absolute addresses: without a slash at its end, such as `https://chat.example.org`. */
  readonly baseUrl: string
}

/**
 * One call on any transport: with credentials, which the pipeline checks, or with a principal that the transport has proved before, by
 * the rights on a socket file or at the beginning of a session.
 */
export type Call = CallSource &
  (
    | { readonly credentials: Credentials; readonly principal?: undefined }
    | { readonly credentials?: undefined; readonly principal: Principal }
  )

/** What a handler gives back: `data` and, beside it, top-level members of the envelope. */
export interface Payload<Data = unknown, Extras = unknown> {
  readonly data: Data
  readonly extras?: Extras
}

/** A file that comes in with its fields. Its bytes pass through and are never in memory as a whole. */
export interface UploadForm {
  /** The short texts that came before the file, by name. */
  readonly fields: ReadonlyMap<string, string>
  /** The last segment of the name that the client gave, at most 255 characters, none of them a control character; null: it gave none. */
  readonly fileName: string | null
  /** What the client says the file is, such as `image/png`. */
  readonly contentType: string
  /**
   * It ends only when all that came was as it has to be. Otherwise, and when the client goes away, it fails with the AppError that the call
   * is to be answered with, so what was written of it must not stay.
   */
  readonly body: Readable
}

/** A body that is a form with a file. */
export interface Upload {
  /** Of the whole body, in bytes, so the file is a little shorter; null when it is not known beforehand. */
  readonly length: number | null
  /**
   * Reads up to the file. It is called once at most.
   * @param arrived is told of the bytes of the whole body as they come
   * @throws AppError upload_form_invalid, file_missing, file_name_invalid, malformed_request
   */
  form(arrived: (bytes: number) => void): Promise<UploadForm>
}

/** What becomes of a call. */
export type Reply<Encoded, Opened = never> =
  | { readonly kind: 'payload'; readonly encoded: Encoded }
  /** @param ended the transport calls it once, when the file has been sent or will not be, with the bytes of it that were sent */
  | { readonly kind: 'file'; readonly opened: Opened; ended(bytes: number): void }
  | { readonly kind: 'failure'; readonly error: AppError }

/** What a handler knows beside the parameters. */
export interface CallContext<Rule extends CallerRule> {
  readonly principal: PrincipalOf<Rule>
  readonly requestId: string
  readonly address: string
  readonly userAgent: string
  readonly baseUrl: string
  /** What the caller has left, for costs that the handler alone knows. */
  readonly allowance: Pick<Allowance, 'chargeFileBytes'>
}

/** The code behind one operation. */
export interface Handler {
  readonly operation: Operation
  readonly run: (params: never, context: never) => Promise<Payload | FileAnswer>
}

/** Binds the code that answers an operation to its definition; the types of both must agree. */
export function handle<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (params: P, context: CallContext<R>) => Promise<Payload<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** As {@link handle}, of an operation whose answer is a file. */
export function handleDownload<P, R extends CallerRule>(
  operation: Operation<P, unknown, unknown, R>,
  run: (params: P, context: CallContext<R>) => Promise<FileAnswer>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** As {@link handle}, of an operation whose body is a form with a file. */
export function handleUpload<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (params: P, context: CallContext<R> & { readonly upload: Upload }) => Promise<Payload<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** The answer of an operation without extras. */
export function data<D>(value: D): Payload<D, never> {
  return { data: value }
}

/** The answer `true`, once the work is done. */
export async function whenDone(work: Promise<unknown>): Promise<Payload<true, never>> {
  await work
  return { data: true }
}
