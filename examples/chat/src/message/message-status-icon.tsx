import type { MessageStatus } from '@hermod/client'
import { Icon, type IconName } from '../ui/icon.js'

const icons: Readonly<Record<MessageStatus, { icon: IconName; label: string }>> = {
  sending: { icon: 'clock', label: 'waiting to be sent' },
  unknown: { icon: 'clock', label: 'sent, not confirmed yet' },
  failed: { icon: 'warning', label: 'not sent' },
  sent: { icon: 'check', label: 'sent' },
  delivered: { icon: 'double', label: 'delivered' },
  read: { icon: 'double', label: 'read' },
}

/** How far an own message has come: a clock, one check, two checks, two colored checks. */
export function MessageStatusIcon({ status }: { readonly status: MessageStatus }) {
  const { icon, label } = icons[status]
  return (
    <span className="message-status" data-status={status}>
      <Icon name={icon} label={label} />
    </span>
  )
}
