/** Returns the report of errors to the app: by `onError`, else on the console. It never throws. */
export function reporterOf({
  onError = (error) => console.error(error),
}: {
  readonly onError?: ((error: unknown) => void) | undefined
}): (error: unknown) => void {
  return (error) => {
    try {
      onError(error)
    } catch {
      // The report of the app has failed, and there is no other place for the error.
    }
  }
}
