/** Why a connection is closed by the service; the names of the metric's labels. */
export type CloseReason =
  /** There are too many of them. */
  | 'connections'
  /** There are more of them than file descriptors allow for. */
  | 'descriptors'
  /** Its address has too many of them. */
  | 'address_connections'
  /** Too many requests wait, and it adds to them. */
  | 'waiting_requests'
  /** It is among the slowest to read when too much is unread. */
  | 'unread_bytes'
  /** Its client has stopped reading. */
  | 'unread_stalled'
  /** Its client has stopped in the middle of a body. */
  | 'body_stalled'

/** Why a request is answered 503. */
export type RefusalReason =
  /** Too many bytes of answers are unread. */
  | 'unread_bytes'
  /** Too much memory is taken by bodies, and this one is among the slowest. */
  | 'body_bytes'
  /** Too many files come in and go out. */
  | 'files'

/** Is told when a bound is reached. */
export interface BoundsObserver {
  closed(reason: CloseReason): void
  refused(reason: RefusalReason): void
}
