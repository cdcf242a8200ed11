import type { Readable } from 'node:stream'
import type { AppError, CallerRule, Operation } from '@hermod/protocol'
import type { ParameterSource } from './parameters.js'
import type { Principal, PrincipalOf } from './principal.js'

/** What a caller says about itself, as it arrived and not yet proved. */
export interface Credentials {
  readonly appId: string | undefined
  readonly accessToken: string | undefined
  readonly userId: string | undefined
  readonly groupId: string | undefined
}

interface CallSource extends ParameterSource {
  readonly requestId: string
  /** The client's network address, for limits. */
  readonly address: string
  readonly userAgent: string
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

/** A file that comes in or goes out; its bytes pass through and are never in memory as a whole. */
export interface FileStream {
  readonly contentType: string
  /** In bytes; null when it is not known beforehand. */
  readonly length: number | null
  readonly body: Readable
}

/** What becomes of a call. */
export type Reply<Encoded> =
  | { readonly kind: 'payload'; readonly encoded: Encoded }
  | { readonly kind: 'file'; readonly file: FileStream }
  | { readonly kind: 'failure'; readonly error: AppError }

/** What a handler knows beside the parameters. */
export interface CallContext<Rule extends CallerRule> {
  readonly principal: PrincipalOf<Rule>
  readonly requestId: string
  readonly address: string
  readonly userAgent: string
}

/** The code behind one operation. */
export interface Handler {
  readonly operation: Operation
  readonly run: (params: never, context: never) => Promise<Payload | FileStream>
}

/** Binds the code that answers an operation to its definition; the types of both must agree. */
export function handle<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (params: P, context: CallContext<R>) => Promise<Payload<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** As {@link handle}, of an operation whose answer is a file; it waits for the downloads of files. */
export function handleDownload<P, R extends CallerRule>(
  operation: Operation<P, unknown, unknown, R>,
  run: (params: P, context: CallContext<R>) => Promise<FileStream>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** As {@link handle}, of an operation whose body is a file; it waits for the uploads of files. */
export function handleUpload<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (
    params: P,
    context: CallContext<R> & { readonly upload: FileStream },
  ) => Promise<Payload<D, X>>,
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
