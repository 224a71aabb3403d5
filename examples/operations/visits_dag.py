"""The job of nightly.sh as a DAG of Airflow 3: one run for each day, also for days that were missed."""

from datetime import UTC, datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

with DAG(
    "visits",
    schedule=CronDataIntervalTimetable("17 3 * * *", timezone="UTC"),
    start_date=datetime(2026, 3, 1, tzinfo=UTC),
    catchup=True,
    max_active_runs=1,  # two equal requests beside each other are both charged
    default_args={"retries": 0},  # a run that broke off while it read stays charged, and so would each retry
) as dag:
    BashOperator(
        task_id="release",
        cwd="/srv/visits",
        bash_command="./nightly.sh {{ data_interval_start | ds }}",
        env={"HEADCOUNT_LEDGER": "sqlite:////srv/visits/headcount.db"},
        append_env=True,
    )
