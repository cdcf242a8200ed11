/** The members that are not undefined: what a partial update sets. */
export function definedOnly<T extends object>(
  members: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as never
}
