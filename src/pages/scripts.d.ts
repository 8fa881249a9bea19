/** Scripts of the pages are imported as text, to be served. */
declare module './scripts/*' {
  const text: string
  export default text
}
