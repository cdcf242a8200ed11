import type { Conversation } from '@hermod/client'
import { useEffect } from 'react'

/** Marks the messages of an open conversation as read while the page is visible. */
export function useMarkRead(conversation: Conversation, unread: number): void {
  useEffect(() => {
    const markRead = () => {
      // The client repeats it until the server has it.
      if (unread > 0 && document.visibilityState === 'visible') void conversation.markRead()
    }
    markRead()
    document.addEventListener('visibilitychange', markRead)
    return () => document.removeEventListener('visibilitychange', markRead)
  }, [conversation, unread])
}
