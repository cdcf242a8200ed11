/** At once when the answer is at hand, as it is for nearly every call. */
export type Soon<T> = T | Promise<T>

/** Goes on with a value, without a wait where there is none. */
export function whenKnown<T, U>(value: Soon<T>, next: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
