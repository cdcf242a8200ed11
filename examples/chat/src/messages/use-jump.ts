import type { Conversation, MessageList } from '@hermod/client'
import { type RefObject, useEffect, useLayoutEffect, useState } from 'react'
import { useAttempt } from '../ui/notice.js'

const markedMs = 2_000

/** Moves in the list: to any message, which is then marked for a moment, and to the newest one. */
export function useJump(
  conversation: Conversation,
  { messages, hasNewer }: MessageList,
  scroller: RefObject<HTMLElement | null>,
) {
  const attempt = useAttempt()
  const [target, setTarget] = useState<number>()
  const [marked, setMarked] = useState<number>()

  useLayoutEffect(() => {
    // Each new list may be the one with the target.
    const item =
      messages.length > 0 && target !== undefined
        ? scroller.current?.querySelector<HTMLElement>(`[data-id="${target}"]`)
        : null
    if (!item) return
    item.scrollIntoView({ block: 'center' })
    item.focus({ preventScroll: true })
    setTarget(undefined)
    setMarked(target)
  }, [target, messages, scroller])

  useEffect(() => {
    if (marked === undefined) return
    const timer = setTimeout(() => setMarked(undefined), markedMs)
    return () => clearTimeout(timer)
  }, [marked])

  return {
    marked,
    jumpTo(messageId: number) {
      const isLoaded = messages.some(({ id }) => id === messageId)
      if (!isLoaded) attempt(conversation.messages.loadAround(messageId))
      setMarked(undefined)
      setTarget(messageId)
    },
    toNewest() {
      if (hasNewer) attempt(conversation.messages.loadLatest())
      scroller.current?.scrollTo({ top: 0 })
    },
  }
}
