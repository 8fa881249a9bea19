export const words = {
  placeholder: 'Type to filter',
  nothing: 'No match.',
  some: 'some of them',
  move: 'choose',
  pick: 'pick',
  close: 'close',
  done: 'done',
} as const
