import type { MessageList } from '@hermod/client'
import { useState } from 'react'

/** Returns the key of the message that was the first unread one when the conversation was opened. */
export function useFirstUnread({ isLoading, firstUnreadKey }: MessageList): string | undefined {
  const [kept, setKept] = useState<{ readonly key: string | undefined }>()
  // Later ones are read as they come.
  if (kept === undefined && !isLoading) setKept({ key: firstUnreadKey })
  return kept?.key
}
