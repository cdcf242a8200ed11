import type { Conversation } from '@hermod/client'
import { useEffect, useRef } from 'react'

interface OlderMessagesProps {
  readonly conversation: Conversation
  readonly isLoading: boolean
  /** The last page could not be read. */
  readonly hasFailed: boolean
}

/** The upper end of the list: loads older messages as soon as it comes near the visible part. */
export function OlderMessages({ conversation, isLoading, hasFailed }: OlderMessagesProps) {
  const element = useRef<HTMLLIElement>(null)
  const mayLoad = !isLoading && !hasFailed
  useEffect(() => {
    const end = element.current
    if (end === null || !mayLoad) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        // The list shows a failure.
        if (entry?.isIntersecting) conversation.messages.loadOlder().catch(() => {})
      },
      { root: end.closest('.messages'), rootMargin: '200px 0px 0px' },
    )
    observer.observe(end)
    return () => observer.disconnect()
  }, [conversation, mayLoad])
  return (
    <li className="older-messages" ref={element}>
      {!hasFailed ? (
        <span className="spinner" role="img" aria-label="Older messages are loading" />
      ) : (
        <button
          type="button"
          className="text-button"
          onClick={() => conversation.messages.loadOlder().catch(() => {})}
        >
          Older messages could not be read. Try again
        </button>
      )}
    </li>
  )
}
