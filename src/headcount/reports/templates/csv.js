// Offers rows as a CSV file, made here: nothing is fetched.
const csvCell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function offerCsv(file, lines) {
  const link = document.createElement("a");
  const text = lines.map((line) => line.map(csvCell).join(",") + "\n").join("");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
}
