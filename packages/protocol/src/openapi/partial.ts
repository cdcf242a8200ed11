/** What operations that are available cannot do yet, because a part of the service is missing. */
import type { Operation } from '../operation.js'
import {
  getOnlineStatus,
  listPushTaskStatistics,
  sendMessage,
  sendNotification,
  startPushTask,
} from '../operations/index.js'

/** A part of the service that is not there yet, and the operations that need it. */
export interface MissingPart {
  /** What its operations do until the part is there; one or two sentences. */
  readonly effect: string
  readonly operations: readonly Operation[]
}

/** Each with the operations that cannot tell the whole truth without it. */
export const missingParts: readonly MissingPart[] = [
  {
    effect: 'No client can connect to a realtime gateway yet, so the answer is always false.',
    operations: [getOnlineStatus],
  },
  {
    effect:
      'There is no realtime gateway yet: receivers see a message when they ask for it. Typing signals and messages with online_only are answered with success and reach nobody.',
    operations: [sendMessage, sendNotification],
  },
  {
    effect:
      'There is no realtime gateway yet, so no device is connected to the own channel: combined goes through vendor channels alone, corepush_only reaches nobody, and the core_ counts stay 0.',
    operations: [startPushTask, listPushTaskStatistics],
  },
]

/** What all operations have in common. */
export const missingEvents =
  'Events of changes (contacts, groups, users) are recorded, and nobody delivers them before there is a realtime gateway.'

/** @returns what the operation cannot do yet, or null when it does all that it says */
export function limitationOf(operationId: string): string | null {
  const part = missingParts.find(({ operations }) =>
    operations.some(({ id }) => id === operationId),
  )
  return part?.effect ?? null
}
