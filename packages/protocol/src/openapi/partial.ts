/** Limitations of available operations, caused by missing parts of the service. */
import type { Operation } from '../operation.js'
import {
  getOnlineStatus,
  listPushTaskStatistics,
  sendMessage,
  sendNotification,
  startPushTask,
} from '../operations/index.js'

/** A missing part of the service, and the operations that need it. */
export interface MissingPart {
  /** Behaviour of the operations without the part, in one or two sentences. */
  readonly effect: string
  readonly operations: readonly Operation[]
}

/** Missing parts, each with the operations that are incomplete without it. */
export const missingParts: readonly MissingPart[] = [
  {
    effect: 'No client can connect to a realtime gateway yet, so the answer is always false.',
    operations: [getOnlineStatus],
  },
  {
    effect:
      'There is no realtime gateway yet: receivers see a message when they request it. Typing signals and messages with online_only are answered with success and reach no device.',
    operations: [sendMessage, sendNotification],
  },
  {
    effect:
      'There is no realtime gateway yet, so no device is connected to the own channel: combined goes through vendor channels alone, corepush_only reaches no device, and the core_ counts stay 0.',
    operations: [startPushTask, listPushTaskStatistics],
  },
]

/** Limitation of all operations. */
export const missingEvents =
  'Events of changes (contacts, groups, users) are recorded, but not delivered before there is a realtime gateway.'

/** @returns the operation's limitation, or null */
export function limitationOf(operationId: string): string | null {
  const part = missingParts.find(({ operations }) =>
    operations.some(({ id }) => id === operationId),
  )
  return part?.effect ?? null
}
