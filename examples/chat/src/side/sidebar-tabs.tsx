import { useContactRequests, useConversations } from '@hermod/client/react'
import { Badge } from '../ui/badge.js'

export type SidebarTab = 'chats' | 'people'

interface SidebarTabsProps {
  readonly tab: SidebarTab
  onChange(tab: SidebarTab): void
}

/** Switches between conversations and people, with the number of what waits there. */
export function SidebarTabs({ tab, onChange }: SidebarTabsProps) {
  const { unread } = useConversations()
  const requests = useContactRequests() ?? []
  return (
    <fieldset className="sidebar-tabs" aria-label="Lists">
      <button type="button" aria-pressed={tab === 'chats'} onClick={() => onChange('chats')}>
        Chats <Badge count={unread} of="unread messages" />
      </button>
      <button type="button" aria-pressed={tab === 'people'} onClick={() => onChange('people')}>
        People <Badge count={requests.length} of="contact requests" />
      </button>
    </fieldset>
  )
}
