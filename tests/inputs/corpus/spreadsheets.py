"""Spreadsheets and databases, in several languages."""

from __future__ import annotations

from .shapes import TWO, N, P, Shape, Y, comma, lines, percent, words

AGES = [40 + i % 50 for i in range(N)]

SHAPES = [
    Shape(
        "Excel export: semicolons, decimal commas, trailing rows",
        {
            "risk.csv": lines(
                "Patient ID,Age,Weight,Outcome,Predicted risk,Site",
                range(N),
                AGES,
                AGES,
                words("No", "Yes"),
                comma(P),
                ["A", "B"] * 60,
                sep=";",
            )
            + ";;;;;\n" * 3
        },
        "binary",
        "Outcome",
        "Predicted risk",
        (TWO,),
    ),
    Shape(
        "Excel export with sep=",
        {"risk.csv": "sep=;\n" + lines("Outcome,Predicted risk", words("No", "Yes"), comma(P), sep=";")},
        "binary",
        "Outcome",
        "Predicted risk",
        (TWO,),
    ),
    Shape(
        "Excel export in Windows-1252",
        {"risk.csv": lines("Größe,Outcome,Risk", AGES, words("No", "Yes"), comma(P), sep=";").encode("cp1252")},
        "binary",
        "Outcome",
        "Risk",
        (TWO,),
    ),
    Shape(
        "Excel export as Unicode text",
        {"risk.txt": lines("Größe,Outcome,Risk", AGES, words("No", "Yes"), comma(P), sep="\t").encode("utf-16")},
        "binary",
        "Outcome",
        "Risk",
        (TWO,),
    ),
    Shape(
        "German: ja, nein and per cent",
        {
            "risk.csv": lines("id,Ergebnis,Risiko", range(N), words("nein", "ja"), percent(P, " %"), sep=";").replace(
                ".", ","
            )
        },
        "binary",
        "Ergebnis",
        "Risiko",
        (TWO,),
    ),
    Shape(
        "French: oui, non and decimal commas",
        {"risk.csv": lines("patient,deces,probabilite", range(N), words("non", "oui"), comma(P), sep=";")},
        "binary",
        "deces",
        "probabilite",
        (TWO,),
    ),
    Shape(
        "Spanish: sí, no",
        {"risk.csv": lines("paciente,muerte,riesgo", range(N), words("no", "sí"), P)},
        "binary",
        "muerte",
        "riesgo",
        (TWO,),
    ),
    Shape(
        "decimal commas in quotes between commas",
        {"risk.csv": lines("dead,risk", Y, [f'"{p}"' for p in comma(P)])},
        says=(
            "risk.csv: `risk` has decimal commas ('0,492') and the columns are separated by "
            "commas.\n"
            "  save the file with another delimiter, such as ;"
        ),
    ),
    Shape(
        "a workbook",
        {"risk.xlsx": b"PK\x03\x04"},
        says="risk.xlsx: damaged, cut short, encrypted, or no workbook\n  save it again, or its sheet as CSV",
    ),
    Shape(
        "a title above the names",
        {"risk.csv": "Study export 2024\n\n" + lines("id,Outcome,risk", range(N), words("No", "Yes"), P)},
        says=(
            "risk.csv: 1 line above the column names ('Study export 2024')\n"
            "  the first line of a table names its columns: delete what is above it"
        ),
    ),
    Shape(
        "German Excel: WAHR and FALSCH",
        {"risk.csv": lines("Ergebnis,Risiko", words("FALSCH", "WAHR"), comma(P), sep=";")},
        "binary",
        "Ergebnis",
        "Risiko",
        (TWO,),
    ),
    Shape(
        "French Excel: VRAI and FAUX, narrow blanks before %",
        {"risk.csv": lines("Resultat,Risque", words("FAUX", "VRAI"), comma(percent(P, "\u202f%")), sep=";")},
        "binary",
        "Resultat",
        "Risque",
        (TWO,),
    ),
    Shape(
        "a row of totals at the end",
        {"risk.csv": lines("ward,died,risk", [f"w{i}" for i in range(N)], Y, P) + "Total,,0.5\n"},
        "binary",
        "died",
        "risk",
        (TWO,),
        says=(
            "risk.csv: 1 of 121 outcomes in `died` are missing (first: row 121).\n"
            "  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "a footer of the database",
        {"risk.csv": lines("died,risk", Y, P) + "\n(120 rows affected)\n"},
        "binary",
        "died",
        "risk",
        (TWO,),
        says=(
            "risk.csv: one probability column `risk`, but `died` has three values ((120 rows "
            "affected), 0, 1). An outcome for one probability has two values.\n"
            "  if a value is no outcome, which one?  --label died --where 'died!=VALUE'      if one value is "
            "the event:  --label died --versus-rest 1 --missing drop"
        ),
        remedy="--label died --where 'died!=(120 rows affected)'",
        filled=("VALUE", "(120 rows affected)"),
    ),
]
