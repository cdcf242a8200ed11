/** Why a call, a message or a connection failed. */
export interface Failure {
  /** The code of the server; below 0: of the client. */
  readonly code: number
  /** In snake case. */
  readonly name: string
  readonly message: string
  /** True: the same may succeed later. */
  readonly retry: boolean
  /** Time to wait before that, milliseconds; absent: not known. */
  readonly retryAfterMs?: number
}
