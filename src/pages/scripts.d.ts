/** Scripts of the pages travel as text: the server only hands them out. */
declare module './scripts/*' {
  const text: string
  export default text
}
