import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'

/** Shows the failure of a call to the user. */
type Attempt = (call: Promise<unknown>) => void

const shownMs = 8_000
const AttemptContext = createContext<Attempt>(() => {})

/** Lets the parts below report failed calls, and shows the last one for a while. */
export function NoticeArea({ children }: { readonly children: ReactNode }) {
  const [failure, setFailure] = useState<string>()
  const [attempt] = useState<Attempt>(() => (call: Promise<unknown>) => {
    call.then(
      () => setFailure(undefined),
      (error: Error) => setFailure(error.message),
    )
  })
  useEffect(() => {
    if (failure === undefined) return
    const timer = setTimeout(() => setFailure(undefined), shownMs)
    return () => clearTimeout(timer)
  }, [failure])
  return (
    <AttemptContext value={attempt}>
      {children}
      {failure !== undefined && (
        <p className="notice" role="alert">
          {failure}
          <button type="button" className="text-button" onClick={() => setFailure(undefined)}>
            Close
          </button>
        </p>
      )}
    </AttemptContext>
  )
}

/** For calls without another place for their failure. */
export function useAttempt(): Attempt {
  return useContext(AttemptContext)
}
