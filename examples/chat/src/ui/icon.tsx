/** Outlines of 24 by 24. */
const paths = {
  back: 'M15 5l-7 7 7 7',
  block: 'M12 3a9 9 0 100 18 9 9 0 000-18zM5.8 5.8l12.4 12.4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  chats: 'M4 5.5h16v11H10.5L6 20v-3.5H4z',
  clock: 'M12 4a8 8 0 100 16 8 8 0 000-16zM12 8v4.5l3 1.5',
  close: 'M6 6l12 12M18 6L6 18',
  double: 'M2.5 12.5L7 17l8.5-9.5M11 16l1.2 1L21.5 7.5',
  down: 'M12 5v14M6 13l6 6 6-6',
  edit: 'M4 20l1-4L16.5 4.5l3 3L8 19z',
  file: 'M7 3h7l4 4v14H7zM14 3v5h4',
  group:
    'M9 11a3.2 3.2 0 100-6.4A3.2 3.2 0 009 11zM3 19.5c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5M16 5a3 3 0 010 6M17.5 14c2.2.6 3.5 2.6 3.5 5.5',
  moon: 'M20 14.5A8.5 8.5 0 019.5 4a8.5 8.5 0 1010.5 10.5z',
  people: 'M12 11.5a3.7 3.7 0 100-7.4 3.7 3.7 0 000 7.4zM5 20c0-3.6 3.1-6 7-6s7 2.4 7 6',
  picture: 'M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15.5 9.5h.01',
  pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7',
  plus: 'M12 5v14M5 12h14',
  recall: 'M5 7h14M9.5 7V4.5h5V7M7 7l1 13h8l1-13',
  reply: 'M9 6l-6 6 6 6M3.5 12H14a6 6 0 016 6v1',
  retry: 'M19 12a7 7 0 11-2-5M19 3.5V8h-4.5',
  send: 'M5 12h13M12.5 6l6 6-6 6',
  smile:
    'M12 3.5a8.5 8.5 0 100 17 8.5 8.5 0 000-17zM8.5 14c.8 1.4 2 2.1 3.5 2.1s2.7-.7 3.5-2.1M9 9.5v.01M15 9.5v.01',
  stop: 'M7 7h10v10H7z',
  sun: 'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4',
  warning: 'M12 4L2.8 20h18.4zM12 10v4.5M12 17.3v.01',
} as const

export type IconName = keyof typeof paths

/** An icon in the color of the text. Without a label screen readers skip it. */
export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }) {
  const path = <path d={paths[name]} />
  return label === undefined ? (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      {path}
    </svg>
  ) : (
    <svg className="icon" viewBox="0 0 24 24" role="img" aria-label={label}>
      {path}
    </svg>
  )
}
