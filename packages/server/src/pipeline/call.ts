import type { Readable } from 'node:stream'
import type { AppError, CallerRule, Operation } from '@hermod/protocol'
import type { FileAnswer } from '../lib/system/file-answer.js'
import type { ClientConnection, Session } from '../sessions/session.js'
import type { Allowance } from './allowance.js'
import type { ParameterSource } from './parameters.js'
import type { Principal, PrincipalOf } from './principal.js'

/** The credentials of a call as they arrived, before they are checked. */
export interface Credentials {
  readonly appId: string | undefined
  /** The likely reason why a call has no app_id, for its refusal; null: none is known. */
  readonly appIdHint?: string | null
  readonly accessToken: string | undefined
  readonly userId: string | undefined
  readonly groupId: string | undefined
  /** Replaces the access token of a request for a file. */
  readonly signed?: SignedFileRequest | undefined
  /** Replaces all other credentials of an upload. */
  readonly ticket?: string | undefined
}

/** A request for a file that is signed instead of carrying an access token. */
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
  /**
   * The address at which the caller has reached the service, without a slash at its end:
   * `https://chat.example.org`.
   */
  readonly baseUrl: string
  /** The session of the gateway in which the call came; absent on other transports. */
  readonly session?: Session
  /** Aborted when the caller has gone; for operations that wait. */
  readonly gone?: AbortSignal
}

/**
 * One call on any transport: with credentials, which the pipeline checks, or with a principal that
 * the transport has already proved, by the rights on a socket file or at the beginning of a
 * session.
 */
export type Call = CallSource &
  (
    | { readonly credentials: Credentials; readonly principal?: undefined }
    | { readonly credentials?: undefined; readonly principal: Principal }
  )

/** The result of a handler: `data` and further top-level members of the envelope. */
export interface Payload<Data = unknown, Extras = unknown> {
  readonly data: Data
  readonly extras?: Extras
}

/** An uploaded file with its fields. Its bytes are streamed and never in memory as a whole. */
export interface UploadForm {
  /** The short texts before the file, by name. */
  readonly fields: ReadonlyMap<string, string>
  /**
   * The last segment of the client's name for the file: at most 255 characters, no control
   * characters; null: the client gave none.
   */
  readonly fileName: string | null
  /** The content type that the client claims, such as `image/png`. */
  readonly contentType: string
  /**
   * Ends only when the whole form is valid. Otherwise, and when the client goes away, it fails with
   * the AppError that the call is to be answered with, so what was written of it must not stay.
   */
  readonly body: Readable
}

/** A body that is a form with a file. */
export interface UploadParameters {
  /**
   * Bytes of the whole body, so the file is a little shorter; null when the client does not
   * announce them.
   */
  readonly length: number | null
  /**
   * Reads up to the file. Called at most once.
   * @param arrived called with the number of bytes of each part of the whole body
   * @throws AppError upload_form_invalid, file_missing, file_name_invalid, malformed_request
   */
  form(arrived: (bytes: number) => void): Promise<UploadForm>
}

/** The result of a call. */
export type Reply<Encoded> =
  | { readonly kind: 'payload'; readonly encoded: Encoded }
  | { readonly kind: 'failure'; readonly error: AppError }

/** Reports whether calls of the operation send or receive the bytes of a file, or pay for them. */
export function movesFiles({ answersFile, takesFile, credentials }: Operation): boolean {
  return answersFile || takesFile !== null || credentials === 'ticket'
}

/** The context of a call, for its handler. */
export interface CallContext<Rule extends CallerRule> {
  readonly principal: PrincipalOf<Rule>
  readonly requestId: string
  readonly address: string
  readonly userAgent: string
  readonly baseUrl: string
  /** The session of the gateway; null on other transports. */
  readonly session: Session | null
  /** The caller's allowance, for costs that only the handler knows. */
  readonly allowance: Pick<Allowance, 'charge' | 'chargeFileBytes'>
}

/** The code behind one operation. */
export interface Handler {
  readonly operation: Operation
  /** Returns a {@link FileAnswer} where the operation answers a file. */
  readonly run: (params: never, context: never) => Promise<Payload>
}

/** Binds the code that answers an operation to its definition; the types of both must agree. */
export function handle<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (params: P, context: CallContext<R>) => Promise<Payload<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** Returns a function like {@link handle} for code whose context has more than that of any call. */
function handleWith<Added>() {
  return <P, D, X, R extends CallerRule>(
    operation: Operation<P, D, X, R>,
    run: (params: P, context: CallContext<R> & Added) => Promise<Payload<D, X>>,
  ): Handler => ({ operation: operation as Operation, run: run as unknown as Handler['run'] })
}

/**
 * Binds the code that answers an operation of a session, which the pipeline requires for `socket:
 * 'only'`.
 */
export const handleInSession = handleWith<{ readonly session: Session }>()

/** Binds the code that opens the session of a connection, which the gateway passes in. */
export const handleConnection = handleWith<{ readonly connection: ClientConnection }>()

/** Binds the code that answers an operation that waits. It answers at once when the signal is aborted. */
export const handleWaiting = handleWith<{ readonly signal: AbortSignal }>()

/** Binds the code that answers a file. */
export function handleDownload<P, R extends CallerRule>(
  operation: Operation<P, unknown, unknown, R>,
  run: (params: P, context: CallContext<R>) => Promise<FileAnswer>,
): Handler {
  return { operation: operation as Operation, run: run as unknown as Handler['run'] }
}

/** Binds the code that takes a form with a file. */
export function handleUpload<P, D, X, R extends CallerRule>(
  operation: Operation<P, D, X, R>,
  run: (
    params: P,
    context: CallContext<R> & { readonly upload: UploadParameters },
  ) => Promise<Payload<D, X>>,
): Handler {
  return { operation: operation as Operation, run: run as Handler['run'] }
}

/** Returns the answer of an operation without extras. */
export function data<D>(value: D): Payload<D, never> {
  return { data: value }
}

/** Returns the answer `true` once the work is done. */
export async function whenDone(work: Promise<unknown>): Promise<Payload<true, never>> {
  await work
  return { data: true }
}
