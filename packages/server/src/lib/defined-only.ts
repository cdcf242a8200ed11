/** The members that are not undefined, for calls and updates that keep absent members unchanged. */
export function definedOnly<T extends object>(members: T): DefinedOnly<T> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as DefinedOnly<T>
}

/** Members that may be undefined are optional; the others stay as they are. */
type DefinedOnly<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
