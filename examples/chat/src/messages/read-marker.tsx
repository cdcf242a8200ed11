import type { Conversation } from '@hermod/client'
import { useEffect, useRef } from 'react'

interface ReadMarkerProps {
  readonly conversation: Conversation
  readonly unread: number
  /** The key of the newest message. */
  readonly newest: string | undefined
}

/** The lower end of the list: when a user sees it, the messages above are read. */
export function ReadMarker({ conversation, unread, newest }: ReadMarkerProps) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (element.current === null || unread === 0 || newest === undefined) return
    // Browsers do not call it in pages and parts that are hidden.
    const observer = new IntersectionObserver(([entry]) => {
      // The client repeats it until the server has it.
      if (entry?.isIntersecting) void conversation.markRead()
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [conversation, unread, newest])
  return <div className="read-marker" ref={element} />
}
