/** Messages that are written piece by piece, as tests write them. */
import { type Api, type Json, type Session, waitFor } from '@hermod/testkit'
import { answerCode } from '../answer-codes.js'
import { sendText } from './messaging.js'

/** A user or a group. */
export interface Target {
  readonly id: number
  readonly type?: 1 | 2
}

/** The members of an append. */
export interface Piece {
  readonly msg_id: number
  readonly index: number
  readonly text: string
  readonly end?: object
  readonly from_user_id?: number
}

/** Begins a stream. @returns the ID of the message */
export function begin(
  { api }: { readonly api: Api },
  { id, type = 1 }: Target,
  more: object = {},
): Promise<number> {
  return sendText(api, id, '…', { type, stream: { kind: 'markdown' }, ...more })
}

/** Appends a piece. @returns the answer, or the code of its failure */
export async function append(
  { api }: { readonly api: Api },
  { id, type = 1 }: Target,
  piece: Piece,
): Promise<Json> {
  const body = { conversation_id: id, type, ...piece }
  const { envelope } = await api.call('POST', '/message/stream/append', { body })
  return envelope.code === answerCode.ok ? envelope.data : envelope.code
}

/** Returns a message as a reader sees it. */
export async function shown(
  { api }: { readonly api: Api },
  conversation_id: number,
  msg_id: number,
): Promise<Json> {
  const { data } = await api.succeed('GET', '/message/get', { query: { conversation_id, msg_id } })
  return data.message
}

/** Waits until a stream has ended. @returns the message */
export async function ended(reader: Session, peer: number, msg_id: number): Promise<Json> {
  return waitFor(
    async () => {
      const message = await shown(reader, peer, msg_id)
      return message.stream.state !== 'open' && message
    },
    { what: `the end of message ${msg_id}`, timeoutMs: 20_000 },
  )
}
