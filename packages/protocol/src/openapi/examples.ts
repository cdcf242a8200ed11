/** Recorded calls of operations, as examples of the document. */
import type { OpenApiReference } from './parts.js'

/** A call that the service answered, and its answer. */
export interface OperationExample {
  readonly query?: Readonly<Record<string, unknown>>
  /** The whole body; absent where it is a form with a file. */
  readonly body?: unknown
  /** The whole envelope; absent where the answer is a file. */
  readonly answer?: unknown
}

/** Examples by the ids of the operations. */
export type OperationExamples = Readonly<Record<string, OperationExample>>

/** Returns the components that hold the bodies and the answers. */
export function exampleComponents(
  examples: OperationExamples,
): Record<string, { readonly value: unknown }> {
  return Object.fromEntries(
    Object.entries(examples).flatMap(([id, { body, answer }]) => [
      ...(body === undefined ? [] : [[`${id}.request`, { value: body }]]),
      ...(answer === undefined ? [] : [[`${id}.answer`, { value: answer }]]),
    ]),
  )
}

/** The user in the header user_id, for operations that need it. */
export const exampleUserId = 1_544_218_012_459_008

/** Returns the `examples` member of a media type: a reference to a component, or nothing. */
export function exampleReferences(
  id: string,
  part: 'request' | 'answer',
  value: unknown,
): { readonly examples?: Readonly<Record<string, OpenApiReference>> } {
  if (value === undefined) return {}
  return { examples: { [part]: { $ref: `#/components/examples/${id}.${part}` } } }
}
