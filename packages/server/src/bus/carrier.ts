/** A connection that brings texts to every process of the service, this one included. */
export interface OpenCarrier {
  /** Sends texts of at most {@link maxTextBytes} bytes, in their order. */
  send(texts: readonly string[]): Promise<void>
  close(): void
}

/** Opens connections between the processes; they may lose, repeat and delay every text. */
export interface Carrier {
  open(events: {
    received(text: string): void
    /** The connection has ended, and was not closed by this process. */
    lost(): void
  }): Promise<OpenCarrier>
}

/** PostgreSQL allows 7,999: https://www.postgresql.org/docs/15/sql-notify.html */
export const maxTextBytes = 7_500
