/**
 * Claims of transaction IDs, by which repeated sends are recognized (rule E4). Loaded by the
 * writer's thread too.
 */
import type { ProcedureContext } from '../../../db/procedure.js'
import { compare } from '../../../lib/compare.js'
import { keyText } from '../../../lib/ids/key-text.js'
import { rowValue } from '../model/message-model.js'
import {
  type ClaimTimes,
  claimTransactions,
  findTransactions,
  type TransactionKey,
  type TransactionRow,
  transactionKeyRow,
  transactionRow,
} from '../transactions/transaction-statements.js'
import type { Submission } from './batch-model.js'

/** A send with the key of its transaction ID; null = it has none. */
export interface PlannedSend extends Pick<Submission, 'rows' | 'groups'> {
  readonly transaction: TransactionKey | null
}

/** A send with a transaction ID. */
export interface ClaimingSend extends PlannedSend {
  readonly transaction: TransactionKey
}

/** The sends of a batch by their transaction IDs. */
export interface BatchClaims {
  /** Sends that claim their transaction IDs, by key. */
  readonly originals: readonly ClaimingSend[]
  /** Sends with the transaction ID of another send of the same batch, with that send. */
  readonly repeats: ReadonlyMap<PlannedSend, ClaimingSend>
}

/** Returns the rows of a submission with the key of its transaction ID. */
export function planSend({ transactionId, rows, groups }: Submission): PlannedSend {
  const [first] = rows
  if (transactionId === null || !first) return { transaction: null, rows, groups }
  const { appId } = rowValue.conversation(first)
  return {
    transaction: { appId, senderId: rowValue.senderId(first), transactionId },
    rows,
    groups,
  }
}

/**
 * Splits sends with transaction IDs into the first of each ID and its repeats in the same batch.
 */
export function claimsOf(planned: readonly PlannedSend[]): BatchClaims {
  const claims = planned.filter(isClaiming).sort(compareClaims)
  const originals: ClaimingSend[] = []
  const repeats = new Map<PlannedSend, ClaimingSend>()
  for (const send of claims) {
    const original = originals.at(-1)
    if (original && compareClaims(original, send) === 0) repeats.set(send, original)
    else originals.push(send)
  }
  return { originals, repeats }
}

/** Claims transaction IDs. @returns the message IDs of sends that were stored before */
export async function claim(
  context: ProcedureContext,
  sends: readonly ClaimingSend[],
  times: ClaimTimes,
): Promise<ReadonlyMap<PlannedSend, readonly number[]>> {
  const rows = sends.map((send) => transactionRow(send.transaction, messageIdsText(send), times))
  if ((await context.change(claimTransactions, rows)) === sends.length) return new Map()
  const found = await context.run<TransactionRow>(
    findTransactions,
    sends.map(({ transaction }) => transactionKeyRow(transaction)),
  )
  const idsByKey = new Map(
    found.map((row) => [keyText(row.app_id, row.sender_id, row.transaction_id), row.msg_ids]),
  )
  const known = new Map<PlannedSend, readonly number[]>()
  for (const send of sends) {
    const { appId, senderId, transactionId } = send.transaction
    const ids = idsByKey.get(keyText(appId, senderId, transactionId))
    if (ids === undefined) throw new Error('a claimed transaction ID has vanished')
    if (ids !== messageIdsText(send)) known.set(send, JSON.parse(ids) as number[])
  }
  return known
}

/** The message IDs of a send as `sent_transactions` holds them. */
export function messageIdsText({ rows }: PlannedSend): string {
  return JSON.stringify(rows.map(rowValue.messageId))
}

function isClaiming(send: PlannedSend): send is ClaimingSend {
  return send.transaction !== null
}

function compareClaims({ transaction: a }: ClaimingSend, { transaction: b }: ClaimingSend): number {
  return (
    compare(a.appId, b.appId) ||
    compare(a.senderId, b.senderId) ||
    compare(a.transactionId, b.transactionId)
  )
}
