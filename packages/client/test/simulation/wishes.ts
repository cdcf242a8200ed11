/** Edits, recalls, reactions and pins that apps have handed to devices, and what must have become of them. */
import type { Device } from './device.js'
import type { ModelServer } from './model/model-server.js'
import { hiddenFrom } from './model/state.js'

export interface Wish {
  readonly device: Device
  readonly kind: 'edit' | 'recall'
  readonly text: string
  readonly transactionId: number
  readonly msgId: number
  /** The transaction ID of the message. */
  readonly of: number | undefined
  /** The user has sent it again, or dropped it, or the server has lost what it has done. */
  isTouched: boolean
}

/** Checks that the last edit or recall of a message by each device has run, or was refused. */
export function lostWishes(wishes: readonly Wish[], server: ModelServer): string[] {
  const { refused, database } = server
  const logs = [...database.logs.values()]
  const texts = new Set(
    logs.flatMap(({ originals, edits }) => [...originals, ...edits.map(({ content }) => content)]),
  )
  /** Logs of messages that are not recalled, and their IDs by transaction ID. */
  const present = new Map<number, (typeof logs)[number]>()
  const ids = new Map<number, number>()
  for (const log of logs)
    for (const message of log.messages) {
      if (!message) continue
      present.set(message.msg_id, log)
      ids.set(log.transactions[message.seq - 1] as number, message.msg_id)
    }
  const last = new Map<string, Wish>()
  for (const wish of wishes) last.set(`${wish.device.name} ${wish.of ?? `m${wish.msgId}`}`, wish)
  return [...last.values()].flatMap((wish) => {
    const { device, kind, text, transactionId, of = 0, isTouched } = wish
    const msgId = (of > 0 && ids.get(of)) || wish.msgId
    const log = present.get(msgId)
    // A failed command: the app was told that the message is not there.
    if (isTouched || !log || device.hasFailed(transactionId)) return []
    // The user has deleted the conversation since.
    if (msgId <= hiddenFrom(database, log, device.userId)) return []
    const { unsent } = device.store
    const isKept = unsent.has(transactionId) || unsent.get(of)?.content === text
    const isDone =
      kind === 'edit'
        ? texts.has(text) || refused.has(`edit ${transactionId}`)
        : refused.has(`recall ${msgId}`)
    return isKept || isDone ? [] : [`the ${kind} of ${msgId} (${text}) is lost`]
  })
}

/**
 * Checks that an edit is refused when, and only when, another device has edited the message since.
 * A device without the message does not know its own edits of it.
 */
export function wrongEdits(wishes: readonly Wish[], server: ModelServer): string[] {
  const { unconditional, conflicts, database } = server
  const edits = [...database.logs.values()].flatMap((log) => log.edits)
  // A device does not know an edit that has run, when its user has dropped it, or the server has
  // refused to repeat it since.
  const known = wishes.filter((wish) => !wish.isTouched && !conflicts.has(wish.transactionId))
  const devices = new Map(known.map(({ text, device }) => [text, device]))
  return wishes.flatMap(({ device, transactionId, text, isTouched }) => {
    if (isTouched) return []
    if (unconditional.has(transactionId))
      return [`${text} overwrites edits that its user has not seen`]
    const msgId = conflicts.get(transactionId)
    const { unsent, messages } = device.store
    const isHeld = [...messages.values()].some((log) =>
      [...log.values()].some((each) => each.msgId === msgId),
    )
    // A repeat that comes before the log is refused, until the log shows that the edit has run.
    if (msgId === undefined || !isHeld || !unsent.has(transactionId)) return []
    const isRight = edits.some(
      (edit) => edit.msgId === msgId && devices.get(edit.content) !== device,
    )
    return isRight ? [] : [`${text} is refused for an own edit`]
  })
}

/** A reaction or pin that a user wants. */
export interface WishedState {
  readonly device: Device
  /** The message, and the key of the reaction. */
  readonly name: string
  readonly isOn: boolean
  readonly at: number
  /** The server has lost what it has done. */
  isTouched: boolean
}

/** Checks that the server was called for the last wanted state of each reaction and pin. */
export function lostStates(states: readonly WishedState[], { wished }: ModelServer): string[] {
  const last = new Map(states.map((state) => [`${state.device.name} ${state.name}`, state]))
  return [...last.values()].flatMap(({ device, name, isOn, at, isTouched }) => {
    const isCalled = wished.some(
      (call) =>
        call.owner === device.name && call.name === name && call.isOn === isOn && call.at >= at,
    )
    return isTouched || isCalled ? [] : [`${device.name}: ${name} ${isOn} is lost`]
  })
}
