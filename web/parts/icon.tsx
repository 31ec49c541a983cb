/** Draws icons as paths of 24 by 24 units. They are decoration: the button beside them has a name. */

const paths = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M5 5h14v14H5z',
  done: 'M5 13l5 5L19 7',
  close: 'M6 6l12 12M18 6L6 18',
  chat: 'M4 5h16v11H9l-5 4z',
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
  sessions: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  search: 'M11 4a7 7 0 100 14 7 7 0 000-14zM16 16l4 4',
  files: 'M4 6h6l2 2h8v11H4z',
  models: 'M12 3l8 5v8l-8 5-8-5V8zM12 12l8-4M12 12v9M12 12L4 8',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 4v6M6 14v6',
  usage: 'M5 20V10M12 20V4M19 20v-7',
  channels: 'M21 4L3 11l6 2 2 6 10-15z',
  jobs: 'M12 7v5l3 2M12 3a9 9 0 100 18 9 9 0 000-18z',
  batches: 'M4 4h16v4H4zM4 10h16v4H4zM4 16h16v4H4z',
  evals: 'M4 6h10M4 12h6M4 18h6M13 16l3 3 5-7',
  memory: 'M6 4h12v16l-6-4-6 4z',
  skills: 'M13 3L5 14h6l-1 7 8-11h-6z',
  mcp: 'M9 3v6M15 3v6M6 9h12v3a6 6 0 01-12 0zM12 18v3',
  tools: 'M14 6a4 4 0 015-1l-3 3 1 2 2 1 3-3a4 4 0 01-5 5l-8 8-3-3 8-8a4 4 0 010-4z',
  plugins: 'M4 8h4a2 2 0 114 0h4v4a2 2 0 110 4v4H4z',
  secrets: 'M9 10a4 4 0 104 4 4 4 0 00-4-4zM12 11l8-8M16 7l3 3',
  owner: 'M12 3l8 3v6c0 4-3 7-8 9-5-2-8-5-8-9V6z',
  account: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4 21c1-5 15-5 16 0',
  copy: 'M8 8h12v12H8zM4 16V4h12',
  edit: 'M4 20l1-5L16 4l4 4L9 19z',
  retry: 'M20 11a8 8 0 10-2 6M20 5v6h-6',
  branch: 'M7 4v10M7 14a3 3 0 100 6 3 3 0 000-6zM17 4a3 3 0 100 6 3 3 0 000-6zM17 10c0 5-10 2-10 5',
  mic: 'M12 3a3 3 0 00-3 3v5a3 3 0 006 0V6a3 3 0 00-3-3zM6 11a6 6 0 0012 0M12 17v4',
  voice: 'M4 10v4M8 6v12M12 9v6M16 4v16M20 10v4',
  attach: 'M8 12l6-6a3 3 0 014 4l-8 8a5 5 0 01-7-7l8-8',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  save: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  down: 'M6 9l6 6 6-6',
  right: 'M9 6l6 6-6 6',
  left: 'M15 6l-6 6 6 6',
  grow: 'M14 4h6v6M20 4l-7 7M10 20H4v-6M4 20l7-7',
  shrink: 'M20 10h-6V4M14 10l7-7M4 14h6v6M10 14l-7 7',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  wrap: 'M4 6h16M4 12h13a3 3 0 010 6h-4M15 16l-2 2 2 2M4 18h5',
  source: 'M8 8l-4 4 4 4M16 8l4 4-4 4',
  sound: 'M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 010 6M18.500 6.500a8 8 0 010 11',
  good: 'M7 11v9H4v-9zM7 11l4-8a2 2 0 012 2v4h6a2 2 0 012 2.500l-1.500 6.500a2 2 0 01-2 1.500H7',
  bad: 'M17 13V4h3v9zM17 13l-4 8a2 2 0 01-2-2v-4H5a2 2 0 01-2-2.500L4.500 6a2 2 0 012-1.500H17',
  star: 'M12 3l3 6 6 1-4.500 4.500 1 6.500-5.500-3-5.500 3 1-6.500L3 10l6-1z',
  pin: 'M9 4h6l-1 6 4 4H6l4-4zM12 14v7',
} as const
export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
)
