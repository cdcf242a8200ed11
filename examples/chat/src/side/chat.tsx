import { useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { ConversationList } from '../conversations/conversation-list.js'
import type { ConversationRef } from '@hermod/client'
import { ConversationView } from '../messages/conversation-view.js'
import { People } from '../people/people.js'
import { AccountBar } from './account-bar.js'
import { NoticeArea } from '../ui/notice.js'
import { Announcer } from './announcer.js'
import { type SidebarTab, SidebarTabs } from './sidebar-tabs.js'

/** The lists on the left, the open conversation on the right; in narrow sides one of them. */
export function Chat({ name }: { readonly name: string }) {
  const [tab, setTab] = useState<SidebarTab>('chats')
  const [opened, setOpened] = useState<ConversationRef>()
  const sidebar = useRef<HTMLDivElement>(null)

  function open(conversation: ConversationRef) {
    setOpened(conversation)
    setTab('chats')
  }

  function close() {
    const find = (selector: string) => sidebar.current?.querySelector<HTMLElement>(selector)
    const item = find('[aria-current="true"]') ?? find('[data-item]')
    // Narrow sides hide the list until then.
    flushSync(() => setOpened(undefined))
    item?.focus()
  }

  return (
    <div className="chat" data-open={opened !== undefined}>
      <NoticeArea>
        <div className="sidebar" ref={sidebar}>
          <AccountBar name={name} />
          <SidebarTabs tab={tab} onChange={setTab} />
          {tab === 'chats' ? (
            <ConversationList opened={opened} onOpen={open} />
          ) : (
            <People onOpen={open} />
          )}
        </div>
        {opened === undefined ? (
          <p className="nothing-open">Choose a conversation.</p>
        ) : (
          <ConversationView
            key={`${opened.kind}.${opened.id}`}
            conversation={opened}
            onClose={close}
          />
        )}
        <Announcer />
      </NoticeArea>
    </div>
  )
}
