/** A value, or a promise of it when it is not available at once. */
export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: synchronously when it is available, otherwise when its promise resolves. */
export function thenMaybe<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
