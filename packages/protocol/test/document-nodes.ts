/** Walks over documents of JSON that have references into themselves. */

/** Returns all objects of a value, itself included. */
export function nodesOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return []
  const nested = Object.values(value).flatMap(nodesOf)
  return Array.isArray(value) ? nested : [value as Record<string, unknown>, ...nested]
}

/** Returns the target of a reference such as `#/components/schemas/Log`; undefined when there is none. */
export function lookUp(document: object, reference: string): unknown {
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((node, key) => (node as Record<string, unknown> | undefined)?.[key], document)
}
