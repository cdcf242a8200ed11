/** Why the service closes a connection; these names are labels of the metric. */
export type CloseReason =
  /** All connections are taken. */
  | 'connections'
  /** The file descriptors allow for no more connections. */
  | 'descriptors'
  /** The address has too many connections. */
  | 'address_connections'
  /** Too many requests wait, and this connection adds to them. */
  | 'waiting_requests'
  /** Too many bytes are unread, and this client is among the slowest readers. */
  | 'unread_bytes'
  /** The client has stopped reading. */
  | 'unread_stalled'
  /** The client has stopped in the middle of a body. */
  | 'body_stalled'

/** Why a request is answered 503. */
export type RefusalReason =
  /** Too many bytes of answers are unread. */
  | 'unread_bytes'
  /** Bodies take too much memory, and this one is among the slowest. */
  | 'body_bytes'
  /** Too many files come in and go out. */
  | 'files'

/** Gets a call whenever a bound is reached. */
export interface BoundsObserver {
  closed(reason: CloseReason): void
  refused(reason: RefusalReason): void
}
