import { useEffect, useRef } from 'react'

interface MoreMessagesProps {
  readonly end: 'older' | 'newer'
  readonly isLoading: boolean
  /** The last page could not be read. */
  readonly hasFailed: boolean
  load(): Promise<void>
}

/** An end of the list: loads more messages as soon as it comes near the visible part. */
export function MoreMessages({ end, isLoading, hasFailed, load }: MoreMessagesProps) {
  const element = useRef<HTMLLIElement>(null)
  const mayLoad = !isLoading && !hasFailed
  useEffect(() => {
    const item = element.current
    if (item === null || !mayLoad) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        // The list shows a failure.
        if (entry?.isIntersecting) load().catch(() => {})
      },
      { root: item.closest('.messages'), rootMargin: '200px 0px' },
    )
    observer.observe(item)
    return () => observer.disconnect()
  }, [load, mayLoad])
  return (
    <li className="more-messages" ref={element}>
      {!hasFailed ? (
        <span className="spinner" role="img" aria-label={`Loading ${end} messages`} />
      ) : (
        <button type="button" className="text-button" onClick={() => load().catch(() => {})}>
          The {end} messages could not be read. Try again
        </button>
      )}
    </li>
  )
}
