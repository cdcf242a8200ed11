/** A message at its position in a conversation, dense from 1. */
export interface Placed {
  readonly seq: number
  /** Unique among all sends. */
  readonly text: string
}

/** The values of each function, by its name. */
export interface HistoryValues {
  /** A message that is sent. */
  send: { readonly conversation: string; readonly text: string }
  /** A page of a conversation over HTTP, in ascending order. */
  read: {
    readonly conversation: string
    readonly messages?: readonly Placed[]
    /** True: the page reaches to the newest message. */
    readonly isNewest?: boolean
  }
  /** A message that a device received over its socket. */
  receive: { readonly conversation: string } & Placed
  /** A read position that a user sets. */
  mark: { readonly conversation: string; readonly reader: string; readonly seq: number }
  /** A read position that is read back. */
  position: { readonly conversation: string; readonly reader: string; readonly seq?: number }
  /** An event that a webhook received: its key, and its position among all events. */
  event: {
    readonly id: string
    readonly key: string
    readonly position: number
    /** The message of an event about a stored one. */
    readonly stored?: { readonly conversation: string } & Placed
  }
  /** A push that a gateway accepted. */
  push: { readonly device: string; readonly text: string }
  /** A device that is never connected, and gets a push of each message of a conversation. */
  absent: { readonly device: string; readonly conversation: string }
  /** A conversation after the end of all work. */
  final: { readonly conversation: string; readonly messages: readonly Placed[] }
  /**
   * The database lost commits. Calls that began until `killedAt` and ended from `from` on may have
   * been lost; devices and receivers may have seen what was lost until `wellAt`.
   */
  loss: { readonly from: number; readonly killedAt: number; readonly wellAt: number }
  /** A fault of a schedule. */
  fault: { readonly kind: string; readonly target?: string }
}

/** The recorded lines. */
export type HistoryFunction = keyof HistoryValues

/**
 * A line of a history. `invoke` begins a call of a process, which has one at a time. `ok` and `fail`
 * are its result; after `info` it is unknown whether it happened. What only happens, such as a
 * received message, has no invocation.
 */
export interface EntryOf<F extends HistoryFunction> {
  readonly process: string
  readonly type: 'invoke' | 'ok' | 'fail' | 'info'
  readonly f: F
  readonly value: HistoryValues[F]
  /** Milliseconds of one monotonic clock. */
  readonly time: number
}

/** A line of a history, of any function. */
export type HistoryEntry = { [F in HistoryFunction]: EntryOf<F> }[HistoryFunction]

/** Records the invocations and results of all processes of a run, in the order of their times. */
export class History {
  readonly entries: HistoryEntry[] = []

  /** The time of an entry that is recorded now. */
  now(): number {
    return performance.now()
  }

  record<F extends HistoryFunction>(
    process: string,
    type: HistoryEntry['type'],
    f: F,
    value: HistoryValues[F],
  ): void {
    this.entries.push({ process, type, f, value, time: this.now() } as HistoryEntry)
  }

  /** Each entry as a line of JSON. */
  toNdjson(): string {
    return this.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  }
}

/** Reads the lines of a history. */
export function parseHistory(ndjson: string): HistoryEntry[] {
  return ndjson
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
