/** Gets a report of what connections do. */
export interface GatewayObserver {
  /** A frame has arrived. */
  received(): void
  /** A frame or a handshake was refused. @param error the name in the catalogue */
  refused(error: string): void
  /** A session was opened. @param seconds from its frame to its answer */
  opened(seconds: number): void
  /** A connection has ended. @param code as sent, else as received; 1006: it was cut */
  closed(code: number): void
}
