def write_report(folder): return folder/'report.html'
