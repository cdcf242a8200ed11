/** An item of a call that takes many, with its row. */
export interface CallItem<R> {
  readonly row: R
  readonly body: Readonly<Record<string, unknown>>
}

/** Bounds of one call: those of the operation, and those of every body. */
interface CallBounds {
  readonly items: number
  /** The most members of nested objects and entries of lists; the others are counted by the body. */
  nested?(body: Readonly<Record<string, unknown>>): number
}

const maxBytes = 512 * 1024
/** The service takes at most 20,000 members and entries in a body. */
const maxMembers = 15_000

/** Joins items into calls that the service takes, in their order. */
export function* callBatches<R>(
  items: Iterable<CallItem<R>>,
  { items: maxItems, nested = () => 0 }: CallBounds,
): Generator<readonly CallItem<R>[]> {
  let batch: CallItem<R>[] = []
  let [bytes, members] = [0, 0]
  for (const item of items) {
    const itemBytes = Buffer.byteLength(JSON.stringify(item.body))
    const itemMembers = 1 + Object.keys(item.body).length + nested(item.body)
    const isFull =
      batch.length === maxItems ||
      bytes + itemBytes > maxBytes ||
      members + itemMembers > maxMembers
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      ;[bytes, members] = [0, 0]
    }
    batch.push(item)
    bytes += itemBytes
    members += itemMembers
  }
  if (batch.length > 0) yield batch
}
