import { streamStates } from './enums.js'
import type { ErrorName } from './errors.js'
import { int64, optional, stringEnum, type TProperties } from './schema.js'

/** Members beside `data` of the failures that have some, by the name of the error. */
export const failureMembers = {
  stream_refused: {
    next_index: optional(int64({ description: 'with 13012: the index of the next append' })),
    state: optional(
      stringEnum([...streamStates, 'recalled'], {
        description: 'with 13012: the state of the message; only an open one takes text',
      }),
    ),
  },
} as const satisfies Partial<Record<ErrorName, TProperties>>

/** Returns the members that failures with one of these errors may have. */
export function failureMembersOf(errors: readonly ErrorName[]): TProperties {
  const all: Partial<Record<ErrorName, TProperties>> = failureMembers
  return Object.assign({}, ...errors.map((name) => all[name]))
}
